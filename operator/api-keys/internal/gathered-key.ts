import type { ClusterResource, ResourceRef } from '#core/clusters/cluster-resources'
import type { KeyHash } from '#core/keys/key'
import type { KeyDraft } from '#core/keys/key-resource'
import type { KeyState } from '#core/keys/key-state'
import type { Organization } from '#core/organizations/organization-store'
import type { Verdict } from '../../status/verdict.ts'
import type { SecretView } from './delivered-secret.ts'

/** An ApiKey and all that belongs to it, at one moment. Decisions about it depend on nothing else. */
export type GatheredKey = {
  readonly object: {
    readonly ref: ResourceRef
    readonly uid: string
    readonly generation: number
    readonly isTerminating: boolean
    /** When it was deleted; `undefined`: it is not. */
    readonly deletedAtMs: number | undefined
    /** Our finalizer, which keeps the object until its key is ended. */
    readonly hasFinalizer: boolean
    /** Condition `Ready` if it is being deleted and only finalizers of others keep it. */
    readonly deleting: Verdict | undefined
    readonly deletionPolicy: 'Revoke' | 'Orphan'
    /** Someone asked to release the object whatever happens to its key and its Secret. */
    readonly isGlassBroken: boolean
  }
  /** The draft of its spec, within what its namespace allows, or the problem with it. */
  readonly draft: KeyDraft | { readonly fault: string }
  /** The fields of its spec that ask for more than its namespace allows; its draft has what applies instead. */
  readonly excesses: readonly string[]
  /** Why the quota of its namespace refuses it a key. */
  readonly overQuota: string | undefined
  readonly namespace: {
    /** Whom it may charge, according to its label. */
    readonly organization: string | undefined
    readonly isTerminating: boolean
  }
  /** The one that the spec names, if it exists. */
  readonly organization: Organization | undefined
  /** The database's record of this object. */
  readonly resource: ClusterResource | undefined
  /** The key recorded for it. */
  readonly key: KeyState | undefined
  /** A key that the object once had and the database no longer knows, because it was restored from a backup. */
  readonly lostKeyId: string | undefined
  /** A key that an earlier ApiKey of this name left behind, which this one is to take over. */
  readonly orphan: { readonly key: KeyState; readonly rotatedAt: Date | null } | undefined
  readonly secret: SecretView
  /** An undelivered secret that this process holds. */
  readonly minted: KeyHash | undefined
  /** Another object owns the key that this one had. */
  readonly conflict: ResourceRef | undefined
  /** Why the API server rejected the Secret. */
  readonly refusal: { readonly reason: string; readonly message: string } | undefined
  /** Whether this look at the object may still wait for the data plane. */
  readonly patience: 'some' | 'none'
  /** Before that, an API key that the Secret lost is not replaced once more. 0: it may be now. */
  readonly nextRepairAtMs: number
  /** How long a deletion waits for the gateways to reject its revoked key. */
  readonly revocationWaitMs: number
  readonly nowMs: number
}

/** Whether a secret was ever delivered. */
export function wasDelivered(key: KeyState | undefined): boolean {
  return key?.secrets.some(({ delivered }) => delivered) ?? false
}
