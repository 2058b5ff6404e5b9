import type { ScopedClient } from '#core/audit/scope'
import { putPrice } from '#core/catalog/catalog-store'
import { cancelPrice, schedulePrice } from '#core/catalog/price-schedule'
import { draftRoute } from '#core/catalog/route-resource'
import { isId } from '#core/db/id'
import type { Price } from '#core/ledger/price'
import { modelRouteSchema } from '#crds/model-route'
import { notFound, type Problem } from '../../api/problem.ts'
import { type AdministeredModel, findModel, specOfModel } from './administered-models.ts'
import { holdCatalog } from './catalog-lock.ts'
import { holdModel, managedByCluster } from './change-model.ts'
import { wrongPrice } from './check-route.ts'
import { type Refused, ruleBroken } from './refusals.ts'

type Refusal = { readonly refused: readonly Refused[] } | { readonly problem: Problem }

/** A price to set, in the form of a ModelRoute's spec. */
type PriceOrder = {
  readonly model: string
  readonly version: string
  readonly pricing: object
  /** `undefined`: it applies now. */
  readonly from: Date | undefined
  /** A scheduled price that is canceled in the same step. */
  readonly replaces: string | undefined
}

const aheadMsMin = 60_000
const aheadMsMax = 366 * 24 * 60 * 60 * 1_000
/** Waiting prices of one model: more would be a mistake, and all of them are part of its version. */
const scheduledMax = 20

/** Changes what a model costs, now or later. Writes nothing if it returns a rejection. */
export async function setPrice(
  client: ScopedClient,
  order: PriceOrder,
  nowMs: number,
): Promise<AdministeredModel | Refusal> {
  const held = await holdModel(client, order.model, order.version)
  if ('problem' in held) return held
  const checked = checkPrice(held, order.pricing)
  const refused = [...('refused' in checked ? checked.refused : []), ...wrongTime(held, order, nowMs)]
  if ('refused' in checked || refused.length > 0) return { refused }
  if (order.replaces !== undefined) {
    const canceled = await cancelPrice(client, order.model, order.replaces)
    if (canceled !== 'canceled') return { problem: { code: 'price_too_late' } } // and nothing has been written
  }
  if (order.from === undefined) await putPrice(client, order.model, checked.price)
  else if ((await schedulePrice(client, order.model, checked.price, order.from)) === 'taken')
    throw new Error(`another price of model ${order.model} waits for ${order.from.toISOString()}`)
  return readAgain(client, order.model)
}

/** Cancels a scheduled price. Writes nothing if it returns a rejection. */
export async function cancelScheduled(
  client: ScopedClient,
  name: string,
  priceId: string,
): Promise<AdministeredModel | { readonly problem: Problem }> {
  await holdCatalog(client)
  const model = await findModel(client, name)
  if (model === undefined || !isId(priceId)) return notFound
  if (model.owner !== null) return managedByCluster(model.owner)
  const canceled = await cancelPrice(client, name, priceId)
  if (canceled === 'not_found') return notFound
  return canceled === 'too_late' ? { problem: { code: 'price_too_late' } } : readAgain(client, name)
}

/** Checks a price as a part of the model's spec, whose rules it must keep. Pure. */
export function checkPrice(
  model: AdministeredModel,
  pricing: object,
): { readonly price: Omit<Price, 'id'> } | { readonly refused: readonly Refused[] } {
  const { data: spec, error } = modelRouteSchema.shape.spec.safeParse({ ...specOfModel(model), ...pricing })
  if (spec === undefined)
    return {
      refused: error.issues.map(({ path, message }) => ruleBroken(['spec', ...path].join('.'), message)),
    }
  const draft = draftRoute({ spec })
  const refused = wrongPrice(draft)
  return draft.price === null || refused.length > 0 ? { refused } : { price: draft.price }
}

function wrongTime(
  { scheduled }: AdministeredModel,
  { from, replaces }: PriceOrder,
  nowMs: number,
): readonly Refused[] {
  const others = scheduled.filter(({ price }) => price.id !== replaces)
  if (replaces !== undefined && others.length === scheduled.length)
    return [
      wrong('replaces', 'not_found', 'no such price waits for its time', 'такой запланированной цены нет'),
    ]
  if (from === undefined) return []
  const aheadMs = from.getTime() - nowMs
  if (aheadMs < aheadMsMin)
    return [
      wrong(
        'valid_from',
        'too_early',
        'must be at least one minute ahead',
        'должно быть хотя бы на минуту позже текущего времени',
      ),
    ]
  if (aheadMs > aheadMsMax)
    return [wrong('valid_from', 'too_late', 'must be within a year', 'должно быть не позже чем через год')]
  if (others.some((each) => each.from.getTime() === from.getTime()))
    return [
      wrong(
        'valid_from',
        'taken',
        'another price waits for this moment: replace or cancel it',
        'на это время уже запланирована цена: замените или отмените её',
      ),
    ]
  if (others.length >= scheduledMax)
    return [
      wrong(
        'valid_from',
        'too_many',
        `at most ${scheduledMax} prices of a model can wait: cancel one of them`,
        `у модели не больше ${scheduledMax} запланированных цен: отмените одну из них`,
      ),
    ]
  return []
}

function wrong(path: string, code: string, en: string, ru: string): Refused {
  return { path, code, en, ru }
}

async function readAgain(client: ScopedClient, model: string): Promise<AdministeredModel> {
  const written = await findModel(client, model)
  if (written === undefined) throw new Error(`model ${model} has disappeared`)
  return written
}
