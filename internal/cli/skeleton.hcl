# What agents may use: MCP servers, the tools pinned on them, and the agents that have those tools.
# "mcpcat validate" checks this file, offline. docs/language.md explains every argument.

mcpcat {
  required_version = ">= 0.1.0"
}

# A server. "mcpcat discover -hcl URL" prints such a block with every tool that the server offers, and
# "mcpcat import FILE" makes a file of the servers that an agent program is configured with.
#
# server "github" {
#   http {
#     url = "https://mcp.github.example/mcp"
#     auth {
#       bearer = var.github_token
#     }
#   }
#   tools = ["get_issue", "search_issues"]
# }
#
# Its token: set MCPCAT_VAR_github_token. Secrets stand in no file here.
#
# variable "github_token" {
#   type      = string
#   sensitive = true
# }
#
# A command that is started here, without a shell.
#
# server "files" {
#   stdio {
#     command = "/usr/local/bin/files-mcp"
#     args    = ["--root", "/srv/handbook", "--read-only"]
#   }
#   tools = ["read_file"]
# }
#
# An agent, and what it may call.
#
# agent "support_bot" {
#   tools = [
#     server.github,
#     server.files.tool.read_file,
#   ]
# }
#
# Then: "mcpcat plan -out=first.mcpplan" shows what the servers offer, "mcpcat apply first.mcpplan" pins it, and
# "mcpcat serve -agent=support_bot -stdio" is the MCP server of that agent.
