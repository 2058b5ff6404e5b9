import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import type { Dialect } from '../../../provider-adapter.ts'
import { allowedToolsOf } from '../route-tools.ts'

/**
 * Tools that OpenAI runs itself and bills in addition to tokens (developers.openai.com, pricing, "Built-in tools"; read
 * 2026-11-25). Tools that are not known here are the client's own business.
 */
const serverTools = /^(?:web_search|file_search$|code_interpreter$|image_generation$|mcp$|hosted_|container)/

/** Whether a tool of a request is one that its provider would run and bill. */
export function isServerTool(tool: JsonObject): boolean {
  if (tool.type === 'shell') return (fieldsOf(tool.environment)?.type ?? 'local') !== 'local'
  return typeof tool.type === 'string' && serverTools.test(tool.type)
}

/** The names of these tools in calls. */
export function allowedCallsOf(dialect: Dialect): ReadonlySet<string> {
  return new Set([...allowedToolsOf(dialect)].map((type) => callNameOf(String(type))))
}

/** Versions of one tool have one name. */
function callNameOf(type: string): string {
  return type.replace(/^web_search.*$/, 'web_search')
}

/** Calls that clients answer. */
const clientCalls: ReadonlySet<string> = new Set([
  'function_call',
  'custom_tool_call',
  'tool_search_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'computer_call',
])
const knownCalls: ReadonlySet<string> = new Set([
  'web_search',
  'file_search',
  'code_interpreter',
  'image_generation',
  'mcp',
])

/** The tool that a provider ran, if an item is such a call and the request may not use it; `other`: one that is not known. */
export function forbiddenToolOf({ type }: JsonObject, allowed: ReadonlySet<string>): string | undefined {
  if (typeof type !== 'string' || !type.endsWith('_call') || clientCalls.has(type)) return undefined
  const name = type.slice(0, -'_call'.length)
  if (allowed.has(name)) return undefined
  return knownCalls.has(name) ? name : 'other'
}
