import type { Provider } from './internal/provider.ts'
import type { ShopIdentity } from './internal/transition.ts'
import { createYookassa } from './internal/yookassa.ts'
import type { ShopSettings } from './payment-settings.ts'

/** A shop at the provider, ready for calls. */
export type Shop = ShopIdentity & {
  readonly provider: Provider
  readonly receipt: ShopSettings['receipt']
  readonly savesCards: boolean
  /** The same shop for a waiting user: calls end soon, with an unknown outcome if the provider has not responded. */
  forOneWait(): Shop
  /** The same shop for a process that stops: its calls end with this signal, with an unknown outcome. */
  until(ends: AbortSignal): Shop
  close(): Promise<void>
}

/** A user is waiting for a page. The provider may take three times as long; a worker waits for that. */
const waitMsMax = 8_000

/** Opens no connection before the first call. */
export function openShop(settings: ShopSettings): Shop {
  const { close, provider } = createYookassa(settings)
  const { shopId, isTest, receipt, savesCards = false } = settings
  const shopUntil = (ends?: AbortSignal): Shop => ({
    shopId,
    isTest,
    receipt,
    savesCards,
    provider: provider(ends),
    close,
    forOneWait: () => shopUntil(AbortSignal.timeout(waitMsMax)),
    until: shopUntil,
  })
  return shopUntil()
}
