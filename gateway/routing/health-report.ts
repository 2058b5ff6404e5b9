import type { GatewayReport, Trouble } from '#core/catalog/gateway-report'

/** Failure reasons that concern all models of a provider, unless one of them answers. */
const providerWide: readonly Trouble[] = ['unauthorized', 'unreachable']

/** How a model at a provider is now. */
export type DeploymentHealth = {
  readonly provider: string
  /** Its name there. */
  readonly model: string
  /** It failed too often or its provider asked for it, and it has not answered well since. */
  readonly isRecovering: boolean
  /** Why it failed last, if it is unhealthy or its credential was rejected; `null`: neither. */
  readonly trouble: Trouble | null
  /**
   * Its provider has answered a request, of this model or another, that was sent after that failure began.
   */
  readonly providerAnswers: boolean
}

/** How a provider is, apart from its deployments. */
export type ProviderStanding = {
  readonly name: string
  /** It has answered well since its document last changed. */
  readonly answers: boolean
  /** Why it did not list its models, if nothing has been answered well since; `null`: it did, or was not asked. */
  readonly trouble: Trouble | null
}

/**
 * The state of providers for this gateway: those that it cannot use now, and those that have answered it. Unhealthy is
 * each deployment as `<provider> <model>`. A provider itself is unhealthy in three cases: its failure is that of all its
 * models and none has answered well since; all models ever called are unhealthy; it does not list its models. Providers
 * come first. Pure.
 */
export function healthReportOf(
  deployments: readonly DeploymentHealth[],
  standings: readonly ProviderStanding[],
): Pick<GatewayReport, 'unhealthy' | 'answering'> {
  const answering = standings.flatMap(({ name, answers }) => (answers ? [name] : [])).sort()
  return { unhealthy: unhealthyOf(deployments, standings), answering }
}

function unhealthyOf(
  deployments: readonly DeploymentHealth[],
  standings: readonly ProviderStanding[],
): GatewayReport['unhealthy'] {
  const unhealthy = deployments.flatMap(({ provider, model, trouble }) =>
    trouble === null ? [] : [[`${provider} ${model}`, trouble] as const],
  )
  const providers = new Map(
    standings.flatMap(({ name, trouble }) => (trouble === null ? [] : [[name, trouble] as const])),
  )
  if (unhealthy.length + providers.size === 0) return {} // as nearly always: this is asked four times a second
  for (const [provider, own] of Map.groupBy(deployments, (deployment) => deployment.provider)) {
    const whole = own.find(
      ({ trouble, providerAnswers }) =>
        trouble !== null && providerWide.includes(trouble) && !providerAnswers,
    )
    const isShared = own.every((deployment) => deployment.trouble !== null)
    const trouble = whole?.trouble ?? (isShared ? own[0]?.trouble : undefined)
    if (trouble) providers.set(provider, trouble)
  }
  return Object.fromEntries([...providers, ...unhealthy])
}
