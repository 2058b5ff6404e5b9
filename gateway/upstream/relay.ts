import type { BackendRelay, Dialect, OwnRequest } from './provider-adapter.ts'

/** Whether a request is relayed to a backend, and not translated. */
export function isRelayed(own: OwnRequest | undefined, dialect: Dialect): boolean {
  return own !== undefined && dialect.relay?.relay.api === own.api
}

/** Parts of a client's own request that a backend would not get. */
export function findDroppedOfOwn(
  own: OwnRequest,
  { relay }: BackendRelay,
  dialect: Dialect,
): readonly string[] {
  const steps = relay.write({ own, mode: 'plain', dialect, outputTokensMax: null })
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value.dropped
  }
}
