package transport

// survivors counts the living processes that carry the mark of a tree or belonged to it when it was last looked at.
func survivors(t *tree) int { return len(t.members()) }
