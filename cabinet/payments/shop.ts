import type { Provider } from './internal/provider.ts'
import type { ShopIdentity } from './internal/transition.ts'
import { createYookassa } from './internal/yookassa.ts'
import type { ShopSettings } from './settings.ts'

/** A shop at the provider, ready to be asked. */
export type Shop = ShopIdentity & {
  readonly provider: Provider
  readonly receipt: ShopSettings['receipt']
  close(): Promise<void>
}

/** Opens no connection before the first call. */
export function openShop(settings: ShopSettings): Shop {
  const { close, ...provider } = createYookassa(settings)
  const { shopId, isTest, receipt } = settings
  return { shopId, isTest, receipt, provider, close }
}
