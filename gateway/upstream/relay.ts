import type { BackendRelay, Dialect, OwnRequest } from './provider-adapter.ts'

/** How a client's own request is relayed to a backend; `undefined`: it is translated. */
export function findRelay(own: OwnRequest | undefined, { relay }: Dialect): BackendRelay | undefined {
  return own !== undefined && relay?.relay.api === own.api ? relay : undefined
}

/** Parts of a client's own request that a backend would not get. Encrypted content counts as sent. */
export function findDroppedOfOwn(
  own: OwnRequest,
  { relay }: BackendRelay,
  dialect: Dialect,
): readonly string[] {
  const steps = relay.write({ own, mode: 'plain', dialect, outputTokensMax: null, assumesSigned: true })
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value.dropped
  }
}
