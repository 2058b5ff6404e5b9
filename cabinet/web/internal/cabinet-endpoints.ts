import type { Pool } from 'pg'
import { readOrganizationSums } from '#core/admission/organization-sums'
import type { ArchiveStore } from '#core/archive/archive-store'
import type { ProgrammedKeys } from '#core/keys/programmed-keys'
import type { Log } from '#core/process/log'
import type { RedisServers } from '#core/redis/redis-connection'
import type { Endpoint } from '../../api/endpoint.ts'
import type { Throttles } from '../../api/throttles.ts'
import { activityEndpoints } from '../../billing/activity-endpoints.ts'
import { ledgerEndpoints } from '../../billing/ledger-endpoints.ts'
import { overviewEndpoints } from '../../billing/overview-endpoints.ts'
import { requestEndpoints } from '../../billing/request-endpoints.ts'
import { spendingEndpoints } from '../../billing/spending-endpoints.ts'
import { usageEndpoints } from '../../billing/usage-endpoints.ts'
import { catalogEndpoints } from '../../catalog/catalog-endpoints.ts'
import type { PublicCatalog } from '../../catalog/public-catalog.ts'
import { eventEndpoints } from '../../events/event-endpoints.ts'
import type { LiveEvents } from '../../events/live-events.ts'
import { keyEndpoints } from '../../keys/key-endpoints.ts'
import { createDocumentsInForce } from '../../legal/documents-in-force.ts'
import { legalEndpoints } from '../../legal/legal-endpoints.ts'
import { notificationEndpoints } from '../../notifications/notification-endpoints.ts'
import { organizationEndpoints } from '../../organizations/organization-endpoints.ts'
import { autoTopUpEndpoints } from '../../payments/auto-top-up-endpoints.ts'
import type { PaymentChecks } from '../../payments/payment-checks.ts'
import { paymentEndpoints } from '../../payments/payment-endpoints.ts'
import { peopleEndpoints } from '../../people/people-endpoints.ts'
import { teamEndpoints } from '../../team/team-endpoints.ts'
import { tokenEndpoints } from '../../tokens/token-endpoints.ts'
import type { WebConfig } from '../config.ts'
import { openApiEndpoint } from './api/openapi-endpoint.ts'
import { configEndpoint } from './config-endpoint.ts'

export type CabinetDeps = {
  readonly pool: Pool
  readonly catalog: PublicCatalog
  readonly archive?: ArchiveStore | undefined
  readonly redis: RedisServers
  readonly throttles: Throttles
  readonly programmed: ProgrammedKeys
  readonly liveEvents: LiveEvents
  readonly checks: PaymentChecks
  readonly log: Log
  readonly config: Pick<
    WebConfig,
    'keyPepper' | 'sealingKeys' | 'appUrl' | 'shop' | 'topUpMax' | 'gatewayBaseUrl' | 'trials'
  >
}

/** All endpoints of `/api/v1`, each from its module. */
export function cabinetEndpoints(deps: CabinetDeps): readonly Endpoint[] {
  const { pool, catalog, archive, redis, throttles, programmed, liveEvents, checks, log, config } = deps
  const { keyPepper, appUrl, shop, topUpMax } = config
  return [
    openApiEndpoint,
    configEndpoint(config, createDocumentsInForce(pool, log)),
    ...legalEndpoints({ pool }),
    ...eventEndpoints({ liveEvents }),
    ...peopleEndpoints(deps),
    ...catalogEndpoints({ catalog }),
    ...keyEndpoints({ pool, redis, keyPepper, programmed }),
    ...organizationEndpoints({ pool }),
    ...notificationEndpoints({ pool, appUrl }),
    ...teamEndpoints({ pool, appUrl }),
    ...tokenEndpoints({ pool, keyPepper }),
    ...ledgerEndpoints({
      pool,
      archive,
      readLiveSums: (organization) => readOrganizationSums(redis, organization),
    }),
    ...usageEndpoints({ pool }),
    ...overviewEndpoints({ pool }),
    ...spendingEndpoints({ pool }),
    ...requestEndpoints({ pool, archive }),
    ...activityEndpoints({ pool, redis, archive }),
    ...autoTopUpEndpoints({ pool, shop, topUpMax }),
    ...paymentEndpoints({ pool, throttles, checks, shop, topUpMax, keyPepper, appUrl }),
  ]
}
