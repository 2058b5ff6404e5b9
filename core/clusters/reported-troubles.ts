import type { Trouble } from '../catalog/gateway-report.ts'
import type { Replica } from './replicas.ts'

/** One word from each gateway that reports a problem with the whole of a provider. */
export function troublesOfProvider(provider: string, replicas: readonly Replica[]): readonly Trouble[] {
  return troublesOf(replicas, [provider])
}

/** One word from each gateway that reports a problem with one model of a provider. */
export function troublesOfBackend(
  { provider, model }: { readonly provider: string; readonly model: string },
  replicas: readonly Replica[],
): readonly Trouble[] {
  return troublesOf(replicas, [provider, `${provider} ${model}`])
}

function troublesOf(replicas: readonly Replica[], names: readonly string[]): readonly Trouble[] {
  return replicas.flatMap(({ unhealthy }) => {
    const name = names.find((each) => Object.hasOwn(unhealthy, each))
    const trouble = name === undefined ? undefined : unhealthy[name]
    return trouble === undefined ? [] : [trouble]
  })
}
