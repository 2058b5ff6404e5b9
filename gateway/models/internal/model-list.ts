import type { InspectedKey } from '#core/admission/admission-reply'
import { mayUse } from '#core/keys/allowed-models'
import { isOpenTo, type Route, type RouteTable } from '../../routing/route-table.ts'

/** A model as the list shows it: the four fields of OpenAI's schema, and no more. */
type ModelEntry = {
  /** `<provider>/<model>`. */
  readonly id: string
  readonly object: 'model'
  /** Unix seconds. */
  readonly created: number
  readonly owned_by: string
}

type Caller = Pick<InspectedKey, 'organizationId' | 'allowedModels'>

/** The models that a key may use, for chat and for embeddings, in order of name. */
export function listModels(table: RouteTable, caller: Caller): readonly ModelEntry[] {
  return table
    .modelsFor(caller.organizationId)
    .filter(({ document }) => mayUse(caller.allowedModels, document.model))
    .map(entryOf)
}

/** One model, or `undefined` if there is none or the key may not use it: the caller sees no difference. */
export function findModel(table: RouteTable, caller: Caller, id: string): ModelEntry | undefined {
  const route = table.findModel(id)
  if (route === undefined || !isOpenTo(route, caller.organizationId)) return undefined
  return mayUse(caller.allowedModels, id) ? entryOf(route) : undefined
}

function entryOf({ document: { model, createdAtS } }: Route): ModelEntry {
  const [provider = ''] = model.split('/', 1)
  return { id: model, object: 'model', created: createdAtS, owned_by: provider }
}
