# The catalog that run.sh pins and serves: the everything server of the official Go SDK, found on PATH.

server "everything" {
  stdio {
    command = "everything-server"
  }

  tools = [
    "json_schema_2020_12_tool",
    "test_audio_content",
    "test_embedded_resource",
    "test_error_handling",
    "test_image_content",
    "test_multiple_content_types",
    "test_simple_text",
    "test_x_mcp_header",
  ]
}

agent "suite" {
  names = "plain"

  tools = [
    server.everything.tool.json_schema_2020_12_tool,
    server.everything.tool.test_audio_content,
    server.everything.tool.test_embedded_resource,
    server.everything.tool.test_error_handling,
    server.everything.tool.test_image_content,
    server.everything.tool.test_multiple_content_types,
    server.everything.tool.test_simple_text,
    server.everything.tool.test_x_mcp_header,
  ]
}
