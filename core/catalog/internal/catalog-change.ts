import { isDeepStrictEqual } from 'node:util'
import type { Change, Facts } from '../../audit/audit-log.ts'
import type { ProviderDocument } from '../catalog-document.ts'

/** A change of a route, for the audit log. */
export function routeChange(
  verb: 'put' | 'remove',
  model: string,
  before: Facts | null,
  after: Facts | null,
): Change {
  return {
    action: `route.${verb}`,
    subject: { kind: 'ModelRoute', id: model },
    organizationId: null,
    before,
    after,
  }
}

/** A change of what a model costs, for the audit log. Amounts are decimal strings. */
export function priceChange(model: string, before: Facts | null, after: Facts): Change {
  return {
    action: 'price.put',
    subject: { kind: 'ModelRoute', id: model },
    organizationId: null,
    before,
    after,
  }
}

/** A scheduled price, for the audit log. `before`: the price in force when it was scheduled. */
export function scheduleChange(model: string, before: Facts | null, after: Facts): Change {
  return { ...priceChange(model, before, after), action: 'price.schedule' }
}

/** The cancellation of a scheduled price, for the audit log. */
export function cancellationChange(model: string, before: Facts): Change {
  return {
    action: 'price.cancel',
    subject: { kind: 'ModelRoute', id: model },
    organizationId: null,
    before,
    after: null,
  }
}

/** A change of a provider, for the audit log: of what may be secret, only that it changed. */
export function providerChange(
  verb: 'put' | 'remove',
  name: string,
  before: ProviderDocument | undefined,
  after: ProviderDocument | undefined,
): Change {
  const isNews =
    before !== undefined && after !== undefined && !isDeepStrictEqual(secretsOf(before), secretsOf(after))
  return {
    action: `provider.${verb}`,
    subject: { kind: 'ModelProvider', id: name },
    organizationId: null,
    before: before === undefined ? null : withoutSecrets(before),
    after:
      after === undefined ? null : { ...withoutSecrets(after), ...(isNews ? { secrets: 'changed' } : {}) },
  }
}

function secretsOf({ auth, headers, baseUrl }: ProviderDocument) {
  const { username, password, search } = new URL(baseUrl)
  return { sealed: auth.type === 'None' ? null : auth.sealed, headers, username, password, search }
}

/** Users put tokens into custom headers and into addresses. */
function withoutSecrets({ auth, headers, baseUrl, ...shown }: ProviderDocument): Facts {
  const { type } = auth
  const { origin, pathname } = new URL(baseUrl)
  return {
    ...shown,
    baseUrl: `${origin}${pathname}`,
    auth: auth.type === 'Header' ? { type, header: auth.header } : { type },
    headers: headers.map((header) => header.name),
  }
}
