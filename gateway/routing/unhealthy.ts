import type { Trouble } from '#cabinet/catalogue/gateway-report'

/** Troubles of all models of a provider, unless one of them answers. */
const providerWide: readonly Trouble[] = ['unauthorized', 'unreachable']

/** How a model at a provider is now. */
export type DeploymentHealth = {
  readonly provider: string
  /** Its name there. */
  readonly model: string
  /** It failed too often or its provider asked for it, and it has not answered well since. */
  readonly isRecovering: boolean
  /** Why it failed last, where it is unhealthy; `null`: it is not. */
  readonly trouble: Trouble | null
  /** Its provider has answered well, here or elsewhere, what was sent after that trouble began. */
  readonly providerAnswers: boolean
}

/**
 * What cannot be used now: each unhealthy deployment as `<provider> <model>`, and the provider itself where its trouble is that
 * of all its models and none has answered well since, or all that were ever asked are unhealthy. Providers come first. Pure.
 */
export function unhealthyOf(deployments: readonly DeploymentHealth[]): Readonly<Record<string, Trouble>> {
  const unhealthy = deployments.flatMap(({ provider, model, trouble }) =>
    trouble === null ? [] : [[`${provider} ${model}`, trouble] as const],
  )
  if (unhealthy.length === 0) return {} // as nearly always: this is asked four times a second
  const providers = new Map<string, Trouble>()
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
