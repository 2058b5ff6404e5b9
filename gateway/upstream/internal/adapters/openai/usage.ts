import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'

/** Usage, at the top level or where Groq and Moonshot put it; `undefined` if there is none. */
export function findUsage(fields: JsonObject): unknown {
  return (
    fields.usage ?? fieldsOf(fields.x_groq)?.usage ?? fieldsOf(itemsOf(fields.choices)[0])?.usage ?? undefined
  )
}
