import type { IncomingHttpHeaders } from 'node:http'
import type { OwnRequest } from '../../upstream/provider-adapter.ts'
import type { JsonObject } from '../../wire/json-fields.ts'

/**
 * Headers that mean something to OpenAI, those of tomorrow included. No others are forwarded: proxies in front of the gateway add
 * some about the client, of any name.
 */
const forwarded =
  /^(?:openai-|x-openai-|x-oai-|x-responsesapi-|x-codex-|originator$|session-id$|thread-id$|x-client-request-id$)/
/** They would choose another account than the provider's, or reveal one. */
const aboutAccounts = /auth|token|cookie|secret|credential|key|account|organi[sz]ation|project|user|email/

/** Bytes of these headers: as many as Codex sends several times. */
const headersLengthMax = 8 * 1024

/** A request as a backend with OpenAI's Responses API gets it. Until its organization is known, nothing in it can be decrypted. */
export function ownRequestOf(body: JsonObject, headers: IncomingHttpHeaders): OwnRequest {
  return { api: 'responses', body, headers: forwardedOf(headers), findSigned: () => undefined }
}

function forwardedOf(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  let length = 0
  const kept: [string, string][] = []
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string' || !forwarded.test(name) || aboutAccounts.test(name)) continue
    length += name.length + value.length
    if (length <= headersLengthMax) kept.push([name, value])
  }
  return Object.fromEntries(kept)
}

/** Parts that a chat has no place for and whose text is in the body, or which no backend gets. */
export const inertParts =
  /^(?:tools\.(?:web_search|file_search|code_interpreter|image_generation|mcp|apply_patch|shell|local_shell|computer|tool_search)|input\.(?:item_reference|compaction|local_shell_call|shell_call|apply_patch_call|web_search_call)|(?:include|truncation|tool_choice|max_tool_calls|top_logprobs|context_management|prompt_cache_options)$)/
