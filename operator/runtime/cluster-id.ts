import { CannotStart } from '#core/process/start-or-exit'
import { type ClusterClient, ClusterRefused } from './cluster-client.ts'
import { ClusterUnavailable } from './internal/cluster-transport.ts'
import { namespaces } from './resources.ts'

/** The uid of `kube-system`: as old as the cluster, and unique. @throws CannotStart */
export async function readClusterId(client: Pick<ClusterClient, 'find'>): Promise<string> {
  const { metadata } = (await findKubeSystem(client)) ?? {}
  if (metadata?.uid === undefined)
    throw new CannotStart('the cluster has no namespace kube-system: set OPERATOR_CLUSTER_ID')
  return metadata.uid
}

async function findKubeSystem(client: Pick<ClusterClient, 'find'>) {
  try {
    return await client.find(namespaces, { namespace: '', name: 'kube-system' })
  } catch (error) {
    if (error instanceof ClusterUnavailable)
      throw new CannotStart(`${error.message}: check the server and the credential of the kubeconfig`)
    if (error instanceof ClusterRefused)
      throw new CannotStart(
        `the API server rejected the request: ${error.message}: apply operator/deploy/rbac.yaml, or use a kubeconfig with those permissions`,
      )
    throw error
  }
}
