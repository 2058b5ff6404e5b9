import type { Replica } from '#cabinet/clusters/replicas'
import { no, unknown, type Verdict, yes } from '../status/verdict.ts'

const noGateways = 'no gateway is running'

/** Whether a provider works, by what the gateways that live say about it. One report is enough: silence proves nothing. */
export function healthOf(provider: string, replicas: readonly Replica[]): Verdict {
  if (replicas.length === 0) return unknown('NoGateways', `${noGateways}, so nobody has tried it`)
  const troubles = troublesOf(replicas, [provider])
  if (troubles.length === 0) return yes('Healthy', 'no gateway has anything against it')
  return no(
    troubles.includes('unauthorized') ? 'Unauthorized' : 'ProbeFailed',
    whatIsSaid(troubles, replicas),
  )
}

/** A sentence of what so many of the gateways say. */
export function whatIsSaid(troubles: readonly string[], replicas: readonly Replica[]): string {
  return `${troubles.length} of ${replicas.length} gateways say: ${[...new Set(troubles)].join(', ')}`
}

/** What the gateways that live say against one model of a provider; empty: nothing. */
export function troublesOfBackend(
  { provider, model }: { readonly provider: string; readonly model: string },
  replicas: readonly Replica[],
): readonly string[] {
  return troublesOf(replicas, [provider, `${provider} ${model}`])
}

/** One word of each gateway that cannot use one of these providers and deployments. */
function troublesOf(replicas: readonly Replica[], names: readonly string[]): readonly string[] {
  return replicas.flatMap(({ unhealthy }) => {
    const name = names.find((each) => Object.hasOwn(unhealthy, each))
    const trouble = name === undefined ? undefined : unhealthy[name]
    return trouble === undefined ? [] : [trouble]
  })
}

/** Whether every gateway that lives serves a revision of the catalogue, or a later one. */
export function programmedBy(revision: bigint, replicas: readonly Replica[]): Verdict {
  if (replicas.length === 0) return no('NoGateways', noGateways)
  const count = replicas.filter((replica) => replica.revision >= revision).length
  if (count < replicas.length)
    return no('GatewaysPending', `${count}/${replicas.length} replicas have revision ${revision}`)
  return yes('Programmed', 'every gateway serves it')
}
