import type { IncomingHttpHeaders } from 'node:http'
import type { OwnRequest } from '../../upstream/provider-adapter.ts'
import type { JsonObject } from '../../wire/json-fields.ts'

/** What the API of a request is; no other header of a client is forwarded. */
const forwarded = ['anthropic-version', 'anthropic-beta'] as const
const headerLengthMax = 4 * 1024

/** A request as a backend with Anthropic's API gets it. Until its organization is known, nothing in it can be decrypted. */
export function ownRequestOf(body: JsonObject, headers: IncomingHttpHeaders): OwnRequest {
  const kept = forwarded.flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' && value.length <= headerLengthMax ? [[name, value] as const] : []
  })
  return { api: 'messages', body, headers: Object.fromEntries(kept), findSigned: () => undefined }
}

/** Parts that a chat has no place for and whose text is in the body, or which no backend gets. */
export const inertParts =
  /^(?:tools\.(?:web_search|web_fetch|code_execution|mcp_toolset|bash|text_editor|computer|memory|tool_search)|system\.billing_header$|(?:anthropic-beta|cache_control|context_management|metadata|tool_choice|service_tier|speed|inference_geo|container|mcp_servers)$)/
