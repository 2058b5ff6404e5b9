import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Cluster, ClusterUser } from './cluster.ts'
import { type Process, secrets, startProcess } from './processes.ts'

/** What `startOperators` needs to know; everything else has a default. */
export type OperatorSurroundings = {
  readonly cluster: Cluster
  readonly databaseUrl: string
  /** The release's namespace. */
  readonly namespace: string
  /** The operator's user at the API server; by default one with all permissions. */
  readonly user?: ClusterUser
  /** The folder with the files of another release; by default this one. */
  readonly folder?: string | undefined
}

/** The times of an installation. On a busy machine a leader may not keep them, and no kubelet restarts it. */
export const shippedLease = { OPERATOR_LEASE_MS: '4000', OPERATOR_RENEW_DEADLINE_MS: '3000' }
const patientLease = { OPERATOR_LEASE_MS: '15000', OPERATOR_RENEW_DEADLINE_MS: '10000' }

/** Base address that Secrets of keys get. */
export const gatewayBaseUrl = 'http://gateway.example/v1'

/**
 * Starts operators as processes, with the permissions that they have in an installation's database, and ends them with the
 * file. Call it at the top of the file.
 */
export function operatorsOfThisFile() {
  const processes: Process[] = []
  afterAll(async () => {
    await Promise.all(processes.map((process) => process.kill()))
  })
  return {
    async start(
      { cluster, databaseUrl, namespace, user = cluster, folder = '' }: OperatorSurroundings,
      env: Readonly<Record<string, string>> = {},
      onLine?: (line: string) => void,
    ): Promise<Process> {
      const { KEY_PEPPER, CREDENTIALS_KEY } = secrets
      const settings = {
        KEY_PEPPER,
        CREDENTIALS_KEY,
        KUBECONFIG: user.kubeconfigPath,
        DATABASE_URL: asOperator(databaseUrl),
        GATEWAY_BASE_URL: gatewayBaseUrl,
        UPSTREAM_ALLOWED_CIDRS: '127.0.0.0/8',
        OPERATOR_NAMESPACE: namespace,
        OPERATOR_HOST: '127.0.0.1',
        OPERATOR_PROBES_PORT: '0',
        OPERATOR_METRICS_PORT: '0',
        ...patientLease,
        ...env,
      }
      const process = await startProcess(join(folder, 'operator/main.ts'), settings, onLine)
      processes.push(process)
      return process
    },
  }
}

/** The same database with the operator's permissions only. */
export function asOperator(databaseUrl: string): string {
  const url = new URL(databaseUrl)
  url.searchParams.set('options', '-c role=model_gateway_operator')
  return url.href
}

/** Points to an API server that cannot be reached, for an operator without one. */
export const kubeconfigOfNobody = `
apiVersion: v1
kind: Config
clusters: [{ name: any, cluster: { server: "http://127.0.0.1:1" } }]
users: [{ name: any, user: {} }]
contexts: [{ name: any, context: { cluster: any, user: any } }]
current-context: any
`
