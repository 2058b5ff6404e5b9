import type { ClusterClient } from './cluster-client.ts'

/** A write to the cluster that was not made: this process does not lead, or has not renewed its Lease in time. */
export class NotLeading extends Error {
  constructor() {
    super('this process no longer leads')
    this.name = 'NotLeading'
  }
}

/**
 * The same client, whose writes throw NotLeading unless this process leads. A process that was frozen in the middle of
 * its work wakes with the answer to its last request: it must not write next to the leader that replaced it. The epoch
 * in Postgres rejects its writes there (`core/audit/cluster-epoch.ts`); nothing in the API server does.
 */
export function leadingClient(client: ClusterClient, isLeader: () => boolean): ClusterClient {
  function whileLeading<Arguments extends readonly unknown[], Answer>(
    write: (...call: Arguments) => Promise<Answer>,
  ): (...call: Arguments) => Promise<Answer> {
    return async (...call) => {
      if (!isLeader()) throw new NotLeading()
      return write(...call)
    }
  }

  return {
    ...client,
    apply: whileLeading(client.apply),
    applyStatus: whileLeading(client.applyStatus),
    patch: whileLeading(client.patch),
    remove: whileLeading(client.remove),
    create: whileLeading(client.create),
    replace: whileLeading(client.replace),
  }
}
