import type { ClusterUser } from './cluster.ts'

/** A rule as SelfSubjectRulesReview answers it. */
type Rule = {
  readonly apiGroups?: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** All that a user may do in a namespace, beyond what every user may: `update leases.coordination.k8s.io/a-name`. */
export async function rightsOf(
  user: Pick<ClusterUser, 'request'>,
  namespace: string,
): Promise<readonly string[]> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  }
  const { body } = await user.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', review)
  const { status } = body as { status: { resourceRules: readonly Rule[] } }
  return status.resourceRules
    .filter(({ resources }) => !resources.some((name) => name.startsWith('selfsubject')))
    .flatMap(({ apiGroups = [], resources, resourceNames = [''], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((name) =>
            verbs.map((verb) => `${verb} ${resource}${group && `.${group}`}${name && `/${name}`}`),
          ),
        ),
      ),
    )
    .sort()
}
