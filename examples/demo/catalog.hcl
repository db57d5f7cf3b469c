# The catalog of `make demo`. Both servers are found on PATH; their file arguments are relative to this directory.

server "harbour" {
  description = "An invented harbour office. Its release file makes it change while nobody looks."

  stdio {
    command = "harbour"
    args    = ["-release-file=harbour.release", "-calls=harbour.calls"]
  }

  tools = ["berth_status", "close_gate", "list_berths", "log_arrival", "tide_table"]
}

server "memory" {
  description = "The knowledge graph example of the official Go SDK, unchanged."

  stdio {
    command = "memory"
    args    = ["-memory=memory.jsonl"]
  }

  tools = ["create_entities", "read_graph"]
}

agent "clerk" {
  description = "Answers skippers and keeps notes."

  tools = [
    server.harbour.tool.list_berths,
    server.harbour.tool.log_arrival,
    server.harbour.tool.tide_table,
    server.memory.tool.create_entities,
    server.memory.tool.read_graph,
  ]
}
