import { parseAllDocuments } from 'yaml'

/** An object of a rendered chart. */
export type Rendered = {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Record<string, string>
    readonly labels?: Record<string, string>
  }
  readonly spec?: unknown
}

type Container = {
  readonly name: string
  readonly image?: string
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly resources?: { readonly requests?: Readonly<Record<string, string | number>> }
}

/** What a pod is made of, as far as tests look at it. */
type PodSpec = Readonly<Record<string, unknown>> & {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly imagePullSecrets?: unknown
}

/** A pod of a rendered object, and how many of it there are. */
export type RenderedPod = { readonly name: string; readonly spec: PodSpec; readonly replicas: number }

export function objectsOf(text: string): Rendered[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null)
}

/** The pods that an object makes, as they are created: with the volumes that a StatefulSet adds. */
export function podOf({ kind, metadata, spec }: Rendered): RenderedPod[] {
  if (kind === 'Pod') return [{ name: metadata.name, spec: spec as PodSpec, replicas: 1 }]
  if (!['Deployment', 'StatefulSet', 'Job'].includes(kind)) return []
  const {
    template,
    replicas = 1,
    volumeClaimTemplates: claims = [],
  } = spec as {
    template: { spec: PodSpec & { volumes?: object[] } }
    replicas?: number
    volumeClaimTemplates?: { metadata: { name: string } }[]
  }
  const volumes = [
    ...(template.spec.volumes ?? []),
    ...claims.map(({ metadata: { name } }) => ({ name, persistentVolumeClaim: { claimName: name } })),
  ]
  const { topologySpreadConstraints: _, ...rest } = template.spec
  return [{ name: metadata.name, spec: { ...rest, volumes } as PodSpec, replicas }]
}
