import { execFile } from 'node:child_process'
import type { ClusterUser } from './cluster.ts'
import { deployed } from './cluster.ts'
import { inheritedEnvironment } from './environment.ts'
import { asOperator } from './operator.ts'

/** Who runs the command, and the database that it may ask. */
export type ReleaseSurroundings = {
  readonly user: ClusterUser
  readonly databaseUrl?: string
  /** Where the release is; default: where the files of `operator/deploy` put it. */
  readonly namespace?: string
}

type Said = { readonly code: number; readonly stdout: string; readonly stderr: string }

const commandTimeoutMs = 90_000

/** Runs `release-finalizers` and returns its output, whether or not it succeeded. */
export function releaseFinalizers(
  surroundings: ReleaseSurroundings,
  ...args: readonly string[]
): Promise<Said> {
  return run(surroundings, process.execPath, ['operator/release-finalizers/main.ts', ...args])
}

/** Runs a command of a README as it is written, and answers its output. @throws Error when it fails. */
export async function runLine(surroundings: ReleaseSurroundings, line: string): Promise<string> {
  const [program = '', ...args] = (line.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((word) =>
    word.replaceAll("'", ''),
  )
  if (program === 'kubectl') return surroundings.user.kubectlOk(args)
  const { code, stdout, stderr } = await run(surroundings, program, args)
  if (code !== 0) throw new Error(`${line}: ${stdout}${stderr}`)
  return stdout
}

function run(
  { user, databaseUrl, namespace = deployed.namespace }: ReleaseSurroundings,
  program: string,
  args: readonly string[],
): Promise<Said> {
  const env = {
    ...inheritedEnvironment,
    KUBECONFIG: user.kubeconfigPath,
    OPERATOR_NAMESPACE: namespace,
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: asOperator(databaseUrl) }),
  }
  return new Promise((resolve) => {
    const child = execFile(program, [...args], { env, timeout: commandTimeoutMs }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}
