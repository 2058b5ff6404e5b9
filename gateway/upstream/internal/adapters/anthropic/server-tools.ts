import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import type { Dialect } from '../../../provider-adapter.ts'

/**
 * Tools that Anthropic runs itself and bills in addition to tokens, or that bring others (platform.claude.com, pricing, "Tool use";
 * read 2026-11-25). The search of tools costs nothing, and others are the client's own business.
 */
const serverTools = /^(?:web_search|web_fetch|code_execution|mcp_toolset|advisor)/

/** Whether a tool of a request is one that its provider would run and bill. */
export function isServerTool({ type }: JsonObject): boolean {
  return typeof type === 'string' && serverTools.test(type)
}

/** The types of tools that the route itself requests: its callers may use them, too. */
export function allowedToolsOf({ route }: Dialect): ReadonlySet<string> {
  const own = route.defaults.filter(({ name }) => name === 'tools')
  return new Set(own.flatMap(({ value }) => itemsOf(value)).map((tool) => String(fieldsOf(tool)?.type)))
}

const knownCalls =
  /^(?:web_search|web_fetch|code_execution|bash_code_execution|text_editor_code_execution|advisor)$/

/** The tool that a provider ran, if a block is such a call and the request may not use it; `other`: one that is not known. */
export function forbiddenToolOf(
  { type, name }: JsonObject,
  allowed: ReadonlySet<string>,
): string | undefined {
  if (type !== 'server_tool_use' && type !== 'mcp_tool_use') return undefined
  const called = String(name)
  if (called.startsWith('tool_search')) return undefined
  if ([...allowed].some((tool) => tool.startsWith(called.replace(/^(?:bash|text_editor)_/, ''))))
    return undefined
  return knownCalls.test(called) ? called : 'other'
}
