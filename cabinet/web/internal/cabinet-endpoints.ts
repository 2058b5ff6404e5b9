import type { Pool } from 'pg'
import { administrationEndpoints } from '../../administration/administration-endpoints.ts'
import { readOrganizationSums, waitForBalance } from '../../admission/organization-sums.ts'
import type { Endpoint } from '../../api/endpoint.ts'
import type { Throttles } from '../../api/throttles.ts'
import { catalogueEndpoints } from '../../catalogue/catalogue-endpoints.ts'
import { eventEndpoints } from '../../events/event-endpoints.ts'
import type { LiveEvents } from '../../events/live-events.ts'
import type { ProgrammedKeys } from '../../keys/programmed-keys.ts'
import { keyEndpoints } from '../../keys-api/key-endpoints.ts'
import { ledgerEndpoints } from '../../ledger/ledger-endpoints.ts'
import { overviewEndpoints } from '../../ledger/overview-endpoints.ts'
import { requestEndpoints } from '../../ledger/request-endpoints.ts'
import { usageEndpoints } from '../../ledger/usage-endpoints.ts'
import { organizationEndpoints } from '../../organizations/organization-endpoints.ts'
import { paymentEndpoints } from '../../payments/payment-endpoints.ts'
import type { Shop } from '../../payments/shop.ts'
import { peopleEndpoints } from '../../people/people-endpoints.ts'
import type { Log } from '../../process/log.ts'
import type { RedisConnection } from '../../redis/redis-connection.ts'
import type { WebConfig } from '../config.ts'
import { openApiEndpoint } from './api/openapi-endpoint.ts'
import { configEndpoint } from './config-endpoint.ts'

export type CabinetDeps = {
  readonly pool: Pool
  readonly redis: RedisConnection
  readonly throttles: Throttles
  readonly programmed: ProgrammedKeys
  readonly liveEvents: LiveEvents
  readonly shop: Shop | undefined
  readonly log: Log
  readonly config: Pick<WebConfig, 'keyPepper' | 'sealingKeys' | 'appUrl' | 'topUpMax' | 'gatewayBaseUrl'>
}

/** Every endpoint of `/api/v1`, each from the module that owns it. */
export function cabinetEndpoints(deps: CabinetDeps): readonly Endpoint[] {
  const { pool, redis, throttles, programmed, liveEvents, shop, log, config } = deps
  const { keyPepper, appUrl, topUpMax } = config
  return [
    openApiEndpoint,
    configEndpoint(config, shop),
    ...eventEndpoints({ liveEvents }),
    ...peopleEndpoints(deps),
    ...catalogueEndpoints({ pool }),
    ...keyEndpoints({ pool, redis, keyPepper, programmed }),
    ...administrationEndpoints({
      ...{ pool, programmed },
      waitForBalance: (organization, version) => waitForBalance(redis, organization, version),
    }),
    ...organizationEndpoints({ pool }),
    ...ledgerEndpoints({ pool, readLiveSums: (organization) => readOrganizationSums(redis, organization) }),
    ...usageEndpoints({ pool }),
    ...overviewEndpoints({ pool }),
    ...requestEndpoints({ pool }),
    ...paymentEndpoints({ pool, throttles, log, shop, topUpMax, keyPepper, appUrl }),
  ]
}
