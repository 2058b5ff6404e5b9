import { formatRub } from '#core/ledger/money'
import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import type { createDocumentsInForce } from '../../legal/documents-in-force.ts'
import { readConfig } from '../../payments/config-contracts.ts'
import { topUpMin, welcome } from '../../payments/payment-contracts.ts'
import type { WebConfig } from '../config.ts'

/** Public configuration of this process. */
export function configEndpoint(
  { gatewayBaseUrl, shop, topUpMax }: Pick<WebConfig, 'gatewayBaseUrl' | 'shop' | 'topUpMax'>,
  documentsInForce: ReturnType<typeof createDocumentsInForce>,
): Endpoint {
  const body = {
    gateway_base_url: gatewayBaseUrl,
    top_up: shop === undefined ? null : topUpTerms(topUpMax),
  }
  return endpoint(readConfig, async () => ({ status: 200, body: { ...body, documents: documentsInForce() } }))
}

function topUpTerms(topUpMax: WebConfig['topUpMax']) {
  return {
    min_rub: formatRub(topUpMin),
    max_rub: formatRub(topUpMax),
    welcome: { from_rub: formatRub(welcome.from), bonus_rub: formatRub(welcome.amount) },
  }
}
