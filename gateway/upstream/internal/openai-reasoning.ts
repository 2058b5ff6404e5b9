import { fieldsOf } from '../../wire/json-fields.ts'
import type { Fields } from './openai-tools.ts'
import type { ProviderQuirks } from './quirks.ts'

const switches = {
  thinking_type: { name: 'thinking', on: { type: 'enabled' }, off: { type: 'disabled' } },
  enable_thinking: { name: 'enable_thinking', on: true, off: false },
} as const

/**
 * Expresses `reasoning_effort` as the provider does: its own level, and its switch if it has one. A switch set by the
 * caller stays, and a level is sent only if thinking is on. Anything that differs from the request counts as dropped:
 * it costs more, or thinks less.
 */
export function adaptReasoningEffort(
  fields: Fields,
  known: NonNullable<ProviderQuirks['reasoningEffort']>,
  dropped: Set<string>,
): void {
  const asked = fields.get('reasoning_effort')
  if (asked === undefined) return
  fields.delete('reasoning_effort')
  const level = levelFor(asked, known.levels)
  const said = known.switch === undefined ? level : turn(fields, switches[known.switch], level)
  if (said !== undefined && !(said === 'none' && known.switch !== undefined))
    fields.set('reasoning_effort', said)
  if (said !== asked) dropped.add('reasoning_effort')
}

/** `undefined`: no level matches. */
function levelFor(asked: unknown, levels: Readonly<Record<string, string>> | undefined): unknown {
  if (levels === undefined) return asked === 'none' ? asked : undefined
  return typeof asked === 'string' && Object.hasOwn(levels, asked) ? levels[asked] : asked
}

/** Sets the switch for this level, unless the caller has. Answers the level that can still be meant then. */
function turn(
  fields: Fields,
  { name, on, off }: (typeof switches)[keyof typeof switches],
  level: unknown,
): unknown {
  if (!fields.has(name)) fields.set(name, level === 'none' ? off : on)
  const given = fields.get(name)
  if (given === false || fieldsOf(given)?.type === 'disabled') return 'none'
  return level === 'none' ? undefined : level
}
