import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'

/** Why a response ended, by OpenAI's names of chat completions. */
export function finishOf({ status, incomplete_details: details }: JsonObject): string {
  if (status !== 'incomplete') return 'stop'
  return fieldsOf(details)?.reason === 'content_filter' ? 'content_filter' : 'length'
}
