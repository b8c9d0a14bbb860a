"""Where definitions come from: pinned packages, and how each is made to say what its tools are.

`stdio`: the program of the package is started as an MCP server, without a network, and asked for `tools/list`.
`module`: the same, by `python -m`. `langchain`: the classes of tools of the package are asked for their arguments.
`openapi`: each operation of an OpenAPI document in the package is one definition.
The tokens are placeholders that some servers want to see before they start.
"""

NPM = [
    dict(package="@modelcontextprotocol/server-everything", version="2026.8.31", args=["stdio"]),
    dict(package="@modelcontextprotocol/server-filesystem", version="2026.8.31", args=["."]),
    dict(package="@modelcontextprotocol/server-memory", version="2026.8.31"),
    dict(package="@modelcontextprotocol/server-sequential-thinking", version="2026.8.31"),
    dict(package="@modelcontextprotocol/server-github", version="2025.4.8", env=["GITHUB_PERSONAL_ACCESS_TOKEN"]),
    dict(package="@modelcontextprotocol/server-gitlab", version="2025.4.25", env=["GITLAB_PERSONAL_ACCESS_TOKEN"]),
    dict(package="@modelcontextprotocol/server-slack", version="2025.4.25", env=["SLACK_BOT_TOKEN", "SLACK_TEAM_ID"]),
    dict(package="@modelcontextprotocol/server-puppeteer", version="2025.5.12"),
    dict(package="@modelcontextprotocol/server-google-maps", version="0.6.2", env=["GOOGLE_MAPS_API_KEY"]),
    dict(package="@modelcontextprotocol/server-brave-search", version="0.6.2", env=["BRAVE_API_KEY"]),
    dict(package="@playwright/mcp", version="0.0.83", args=["--caps=vision,pdf,testing,tracing"]),
    dict(package="@notionhq/notion-mcp-server", version="2.5.2", env=["NOTION_TOKEN"]),
    dict(package="chrome-devtools-mcp", version="1.11.0"),
    dict(package="@upstash/context7-mcp", version="4.1.1"),
    dict(package="firecrawl-mcp", version="3.26.0", env=["FIRECRAWL_API_KEY"]),
    dict(package="tavily-mcp", version="0.2.22", env=["TAVILY_API_KEY"]),
    dict(package="@supabase/mcp-server-supabase", version="0.13.0",
         # The other features ask for a schema at their start.
         args=["--access-token", "placeholder", "--features", "account,database,debugging,development,functions,branching,storage"]),
    dict(package="mcp-server-kubernetes", version="4.1.7"),
    dict(package="@mapbox/mcp-server", version="0.14.0", env=["MAPBOX_ACCESS_TOKEN"]),
    dict(package="mongodb-mcp-server", version="3.0.4"),
    dict(package="@zereight/mcp-gitlab", version="2.1.64", env=["GITLAB_PERSONAL_ACCESS_TOKEN"]),
    dict(package="airtable-mcp-server", version="1.14.0", env=["AIRTABLE_API_KEY"]),
    dict(package="n8n-mcp", version="2.87.0", env=["N8N_API_KEY"]),
    dict(package="@wonderwhy-er/desktop-commander", version="0.2.52"),
    dict(package="@circleci/mcp-server-circleci", version="0.20.0", env=["CIRCLECI_TOKEN"]),
    dict(package="@line/line-bot-mcp-server", version="0.5.0", env=["CHANNEL_ACCESS_TOKEN", "DESTINATION_USER_ID"]),
    dict(package="@makeplane/plane-mcp-server", version="0.1.5", env=["PLANE_API_KEY"]),
    dict(package="figma-developer-mcp", version="0.13.2", args=["--figma-api-key=placeholder", "--stdio"]),
    dict(package="@kazuph/mcp-taskmanager", version="1.1.1"),
    dict(package="@octokit/openapi", version="23.0.2", how="openapi", document="generated/api.github.com.json", every=3),
]

PYPI = [
    dict(package="mcp-server-git", version="2026.10.19", how="module", run="mcp_server_git"),
    dict(package="mcp-server-time", version="2026.10.19", how="module", run="mcp_server_time"),
    dict(package="mcp-server-fetch", version="2026.10.24", how="module", run="mcp_server_fetch"),
    dict(package="arxiv-mcp-server", version="0.8.2", how="module", run="arxiv_mcp_server"),
    dict(package="mcp-atlassian", version="0.23.1", run="mcp-atlassian", env=["JIRA_PERSONAL_TOKEN", "CONFLUENCE_PERSONAL_TOKEN"],
         urls=["JIRA_URL", "CONFLUENCE_URL"]),
    dict(package="workspace-mcp", version="2.2.1", run="workspace-mcp", env=["GOOGLE_OAUTH_CLIENT_ID", "GOOGLE_OAUTH_CLIENT_SECRET"]),
    dict(package="langchain-community", version="0.4.2", how="langchain", run="langchain_community.tools"),
]
