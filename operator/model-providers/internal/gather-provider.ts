import type { Pool } from 'pg'
import type { AddressGuard } from '#core/catalog/address-guard'
import { findAddressProblem } from '#core/catalog/address-problem'
import { findProvider } from '#core/catalog/catalog-store'
import { findDocumentProblem } from '#core/catalog/provider-problems'
import { draftProvider } from '#core/catalog/provider-resource'
import { findOwner, type ResourceRef } from '#core/clusters/cluster-resources'
import type { Replica } from '#core/clusters/replicas'
import { orUnavailable } from '#core/db/availability'
import { modelProviderSchema } from '#crds/model-provider'
import { type AllowedNamespaces, isAllowed } from '../../catalog/allowed-namespaces.ts'
import { catalogNameOf } from '../../catalog/catalog-name.ts'
import type { ClusterClient } from '../../runtime/cluster-client.ts'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { faultOf, sentenceOf } from '../../status/spec-fault.ts'
import type { GatheredProvider } from './gathered-provider.ts'
import { type SecretValue, secretValueOf } from './secret-value.ts'

export type GatherProviderDeps = {
  readonly client: Pick<ClusterClient, 'findSecret'>
  readonly pool: Pool
  readonly clusterId: string
  readonly releaseNamespace: string
  readonly allowedNamespaces: AllowedNamespaces
  readonly guard: AddressGuard
  /** The live gateways. */
  readonly replicas: () => Promise<readonly Replica[]>
  /** Called with the Secrets that a provider refers to and the version of each when it was read. */
  readonly onSecret: (provider: string, secretName: string, resourceVersion: string) => void
}

/** Reads everything that decides what happens to a ModelProvider. May throw. */
export async function gatherProvider(
  deps: GatherProviderDeps,
  object: ClusterObject,
): Promise<GatheredProvider> {
  const { client, pool } = deps
  const { namespace = '', name: objectName } = object.metadata
  const name = catalogNameOf({ namespace, name: objectName }, deps.releaseNamespace)
  const draft = draftOf(object, name)
  const addressProblem = 'fault' in draft ? undefined : findAddressProblem(draft.document, deps.guard)
  const counts = isAllowed(deps.allowedNamespaces, { namespace })

  async function secretOf(ref: { readonly name: string; readonly key: string }): Promise<SecretValue> {
    const secret = await client.findSecret({ namespace, name: ref.name })
    deps.onSecret(`${namespace}/${objectName}`, ref.name, secret?.metadata.resourceVersion ?? '')
    return secretValueOf(secret, ref)
  }

  const refs = 'fault' in draft || !counts ? undefined : draft
  const [credential, caCertificates] = await Promise.all([
    refs?.credential ? secretOf(refs.credential.secretRef) : undefined,
    refs?.caSecretRef ? secretOf(refs.caSecretRef) : undefined,
  ])
  const stored = await orUnavailable(findProvider(pool, name))
  return {
    name,
    namespace,
    draft,
    addressProblem: addressProblem === undefined ? undefined : sentenceOf(addressProblem),
    isAllowed: counts,
    credential,
    caCertificates,
    holder: await holderOf(deps, { namespace, name: objectName }, name, stored !== undefined),
    stored,
    replicas: await deps.replicas(),
  }
}

function draftOf(object: ClusterObject, name: string): GatheredProvider['draft'] {
  const parsed = modelProviderSchema.safeParse(object)
  if (!parsed.success) return { fault: faultOf(parsed.error) }
  const drafted = draftProvider(parsed.data)
  if ('problem' in drafted) return { fault: sentenceOf(drafted) }
  const draft = { ...drafted.draft, document: { ...drafted.draft.document, name } }
  const unreadable = findDocumentProblem(draft)
  return unreadable === undefined ? draft : { fault: sentenceOf(unreadable) }
}

async function holderOf(
  { pool, clusterId }: GatherProviderDeps,
  object: { readonly namespace: string; readonly name: string },
  subject: string,
  isStored: boolean,
): Promise<GatheredProvider['holder']> {
  const owner = await orUnavailable(findOwner(pool, 'ModelProvider', subject))
  if (owner === undefined) return isStored ? 'cabinet' : 'nobody'
  const us: ResourceRef = { clusterId, kind: 'ModelProvider', ...object }
  const isOurs =
    owner.clusterId === us.clusterId && owner.namespace === us.namespace && owner.name === us.name
  return isOurs ? 'us' : owner
}
