import { parseArgs } from 'node:util'
import { z } from 'zod'
import { BadEnvironment, postgresUrlSetting, readEnvironment } from '#core/process/environment'
import type { ObjectName } from '../runtime/cluster-object.ts'

/** Every setting of `npm run release-finalizers`. */
export const envSchema = z.object({
  /** Path of a kubeconfig. Default: the service account of the pod. */
  KUBECONFIG: z.string().optional(),
  /** Namespace of the operator's Lease. */
  OPERATOR_NAMESPACE: z.string().min(1),
  /** Name of the operator's Lease. */
  OPERATOR_LEASE_NAME: z.string().min(1).default('model-gateway-operator'),
  /** As the operator's. Default: the uid of `kube-system`. */
  OPERATOR_CLUSTER_ID: z.string().min(1).optional(),
  /** Postgres. Without it the command cannot report which keys still work. */
  DATABASE_URL: postgresUrlSetting.optional(),
})

export type ReleaseConfig = {
  readonly kubeconfigPath: string | undefined
  readonly lease: ObjectName
  /** `undefined`: the uid of `kube-system`. */
  readonly clusterId: string | undefined
  readonly databaseUrl: string | undefined
  /** Empty: all. */
  readonly namespaces: readonly string[]
  /** Whether a running operator is to end first. */
  readonly takesOver: boolean
}

const command = 'npm run release-finalizers'
const usage = `Usage: ${command} -- [--take-over] [NAMESPACE...]`

/** Reads what was asked for, or what is wrong with it. */
export function readReleaseConfig(
  env: NodeJS.ProcessEnv,
  args: readonly string[],
): ReleaseConfig | { readonly wrong: string } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { 'take-over': { type: 'boolean', default: false } },
      allowPositionals: true,
    })
    const data = readEnvironment(command, envSchema, env)
    return {
      kubeconfigPath: data.KUBECONFIG,
      lease: { namespace: data.OPERATOR_NAMESPACE, name: data.OPERATOR_LEASE_NAME },
      clusterId: data.OPERATOR_CLUSTER_ID,
      databaseUrl: data.DATABASE_URL,
      namespaces: positionals,
      takesOver: values['take-over'],
    }
  } catch (error) {
    if (error instanceof BadEnvironment) return { wrong: error.message }
    if (error instanceof TypeError) return { wrong: `${usage}\n${error.message}` } // parseArgs
    throw error
  }
}
