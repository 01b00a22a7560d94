"""The agent of the example, as other people might offer it: `old` in the words of 0.3, `rest` over HTTP."""

import sys

import agent
import uvicorn
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from starlette.applications import Starlette

interface = agent.card.supported_interfaces[0]
if sys.argv[1] == "old":
    interface.protocol_version = "0.3"
    routes = create_jsonrpc_routes(agent.handler, "/", enable_v0_3_compat=True)
else:
    interface.protocol_binding = "HTTP+JSON"
    routes = create_rest_routes(agent.handler)
app = Starlette(routes=create_agent_card_routes(agent.card) + routes)
uvicorn.run(app, host="127.0.0.1", port=agent.port, log_level="warning")
