import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import type { AdaptedChat } from '../../../provider-adapter.ts'
import { withoutMarks } from '../../../signature-marks.ts'

/** The body of a chat, which asks for usage on streams where necessary: the bill depends on it. */
export function writeRequest({ fields, mode, dialect }: AdaptedChat): JsonObject {
  fields.set('model', dialect.model)
  fields.set('stream', mode === 'stream')
  const messages = fields.get('messages')
  if (dialect.quirks.extrasTaken !== undefined && Array.isArray(messages))
    fields.set('messages', withoutMarks(messages))
  const asksUsage =
    mode === 'stream' && dialect.quirks.streamUsage !== 'always' && !dialect.route.drop.has('stream_options')
  if (asksUsage)
    fields.set('stream_options', { ...fieldsOf(fields.get('stream_options')), include_usage: true })
  else fields.delete('stream_options')
  return Object.fromEntries(fields)
}
