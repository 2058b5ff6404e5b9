import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { KubeConfig, type User } from '@kubernetes/client-node'
import { parse } from 'yaml'
import { z } from 'zod'
import { CannotStart } from '#core/process/start-or-exit'
import { podTokenPath } from './pod-account.ts'

/**
 * How to reach the API server, and as whom: from a kubeconfig, or without a path as the service account of this pod.
 * Files that a kubeconfig names are relative to it, and a token from a file is read again when the file changes.
 *
 * @throws CannotStart
 */
export function loadKubeConfig(path: string | undefined): KubeConfig {
  const kubeConfig = new KubeConfig()
  if (path === undefined) {
    if (!existsSync(podTokenPath))
      throw new CannotStart(
        'KUBECONFIG is not set, and this process runs in no pod with a service account: set KUBECONFIG to the path of a kubeconfig',
      )
    kubeConfig.loadFromCluster()
    return kubeConfig
  }
  const tokenFiles = tokenFilesOf(readText(path))
  try {
    kubeConfig.loadFromFile(path)
  } catch {
    throw new CannotStart(notKubeConfig)
  }
  kubeConfig.users = kubeConfig.users.map((user) => withTokenFile(user, tokenFiles.get(user.name), path))
  if (kubeConfig.getCurrentCluster() === null || kubeConfig.getCurrentUser() === null)
    throw new CannotStart(
      'KUBECONFIG: current-context names no context with a cluster and a user: choose one with kubectl config use-context',
    )
  return kubeConfig
}

const notKubeConfig =
  'KUBECONFIG: the file is not a kubeconfig: kubectl --kubeconfig FILE config view checks it'

/** Fields of a user that client-node leaves out. */
const fileSchema = z.object({
  users: z
    .array(z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() }))
    .nullish(),
})

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new CannotStart(
      `KUBECONFIG: the file cannot be read${code}: set it to the path of one kubeconfig that this process may read`,
    )
  }
}

/** By the name of the user. */
function tokenFilesOf(text: string): ReadonlyMap<string, string> {
  const { data } = fileSchema.safeParse(findYaml(text))
  if (data === undefined) throw new CannotStart(notKubeConfig)
  return new Map(
    (data.users ?? []).flatMap(({ name, user }) =>
      user?.tokenFile ? [[name, user.tokenFile] as const] : [],
    ),
  )
}

function findYaml(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** As kubectl: a token in the kubeconfig itself does not count then. */
function withTokenFile(user: User, tokenFile: string | undefined, kubeConfigPath: string): User {
  if (tokenFile === undefined) return user
  const { token: _, ...rest } = user
  const config = { tokenFile: resolve(dirname(kubeConfigPath), tokenFile) }
  return { ...rest, authProvider: { name: 'tokenFile', config } }
}
