import { kubectl, kubectlOk } from './kubernetes.ts'

/** Objects that come and go by themselves. */
const fleeting = /^events|metrics\.k8s\.io$/
/** What Kubernetes puts into each namespace. */
const ofEveryNamespace = new Set(['configmap/kube-root-ca.crt', 'serviceaccount/default'])

/**
 * Everything of every kind that is a release's, by its label or in its namespace, and our kinds themselves: `kind/name`, in
 * order. @param leftOut kinds that do not count, as `kubectl api-resources -o name` has them
 */
export async function leftInCluster(
  { release, namespace }: { readonly release: string; readonly namespace: string },
  leftOut: RegExp,
): Promise<readonly string[]> {
  const kinds = async (scope: 'true' | 'false') =>
    (await kubectlOk(['api-resources', '--verbs=list', `--namespaced=${scope}`, '-o', 'name']))
      .trim()
      .split('\n')
      .filter((kind) => !fleeting.test(kind) && !leftOut.test(kind))
      .join(',')
  const list = async (args: readonly string[]) =>
    (await kubectl(['get', '--ignore-not-found', '-o', 'name', ...args])).stdout.split('\n').filter(Boolean)
  const own = `app.kubernetes.io/instance=${release}`
  const inNamespaces = await kinds('true')
  const found = [
    ...(await list([inNamespaces, '--namespace', namespace])),
    ...(await list([inNamespaces, '--all-namespaces', '--selector', own])),
    ...(await list([await kinds('false'), '--selector', own])),
    ...(await list(['crds'])).filter((name) => name.endsWith('.modelgateway.dev')),
  ]
  return [...new Set(found)].filter((name) => !ofEveryNamespace.has(name)).toSorted()
}
