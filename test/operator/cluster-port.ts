import { KubeConfig } from '@kubernetes/client-node'

/** Port of the cluster's API server on loopback. */
export function portOf(kubeConfig: KubeConfig): number {
  return Number(new URL(kubeConfig.getCurrentCluster()?.server ?? '').port)
}

/** The same cluster and user, through another port of loopback. */
export function atPort(kubeConfig: KubeConfig, port: number): KubeConfig {
  const clusters = kubeConfig.clusters.map((cluster) => ({ ...cluster, server: `https://127.0.0.1:${port}` }))
  const moved = new KubeConfig()
  moved.loadFromOptions({ ...kubeConfig, clusters })
  return moved
}
