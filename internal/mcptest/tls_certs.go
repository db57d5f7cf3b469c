package mcptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority signs the certificates of faulty peers. It is made anew in every process.
var authority = sync.OnceValue(func() *issuer {
	a := &issuer{key: newKey()}
	a.cert = a.sign(authorityTemplate("mcptest authority"), a.key)
	return a
})

func authorityTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

type issuer struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// sign returns the certificate for key; an authority without one signs its own.
func (a *issuer) sign(template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		panic(err)
	}
	template.SerialNumber = serial
	parent := a.cert
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return cert
}

// leaf returns a certificate for the address and the names of faulty peers, after change has had its way.
func (a *issuer) leaf(change func(c *x509.Certificate)) tls.Certificate {
	key, template := newKey(), leafTemplate()
	if change != nil {
		change(template)
	}
	cert := a.sign(template, key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// selfSigned returns a certificate that vouches for itself.
func (a *issuer) selfSigned() tls.Certificate {
	cert := a.sign(leafTemplate(), a.key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: a.key, Leaf: cert}
}

func leafTemplate() *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: "mcptest peer"}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(12 * time.Hour),
		DNSNames: []string{"*.harbour.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// CertificateAuthority is the certificate, in PEM, of the authority that signs those of faulty peers. It is another one in
// every process.
func CertificateAuthority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority().cert.Raw})
}

// Pin is the SHA-256 of the key of the certificate that faulty peers show unless that is the fault, in base64.
func Pin() string {
	sum := sha256.Sum256(goodLeaf().Leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

var goodLeaf = sync.OnceValue(func() tls.Certificate { return authority().leaf(nil) })

func serverTLS(http2 bool) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{goodLeaf()}, NextProtos: []string{"http/1.1"}}
	if http2 {
		c.NextProtos = []string{"h2"}
	}
	return c
}
