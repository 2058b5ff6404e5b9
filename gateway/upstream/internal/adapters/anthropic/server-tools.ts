import type { JsonObject } from '../../../../wire/json-fields.ts'

/**
 * Tools that Anthropic runs itself and bills in addition to tokens, or that bring others (platform.claude.com, pricing, "Tool use";
 * read 2026-11-25). The search of tools costs nothing, and others are the client's own business.
 */
const serverTools = /^(?:web_search|web_fetch|code_execution|mcp_toolset|advisor)/

/** Whether a tool of a request is one that its provider would run and bill. */
export function isServerTool({ type }: JsonObject): boolean {
  return typeof type === 'string' && serverTools.test(type)
}

const knownCalls =
  /^(?:web_search|web_fetch|code_execution|bash_code_execution|text_editor_code_execution|advisor)$/

/** The tool that a provider ran, if a block is such a call and the request may not use it; `other`: one that is not known. */
export function forbiddenToolOf(
  { type, name }: JsonObject,
  allowed: ReadonlySet<unknown>,
): string | undefined {
  if (type !== 'server_tool_use' && type !== 'mcp_tool_use') return undefined
  const called = String(name)
  if (called.startsWith('tool_search')) return undefined
  if ([...allowed].some((tool) => String(tool).startsWith(called.replace(/^(?:bash|text_editor)_/, ''))))
    return undefined
  return knownCalls.test(called) ? called : 'other'
}
