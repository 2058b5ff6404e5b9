import { expect, test } from 'vitest'
import type { ClusterObject } from '../runtime/cluster-object.ts'
import { createRoutePermissions, isOffered } from './route-permissions.ts'

test.each([
  ['', 'openai/gpt-4o', false],
  ['*', 'openai/gpt-4o', true],
  ['openai/*', 'openai/gpt-4o', true],
  ['openai/*', 'openai-2/gpt-4o', false],
  ['acme/one, openai/gpt-4o', 'openai/gpt-4o', true],
  ['openai/gpt-4o', 'openai/gpt-4o-mini', false],
  ['openai/gpt-4*', 'openai/gpt-4o', false],
  ['openai', 'openai/gpt-4o', false],
  ['openai/', 'openai/gpt-4o', false],
  ['/*', 'openai/gpt-4o', false],
  [' , ,', 'openai/gpt-4o', false],
])('%j covers %s: %s', (annotation, model, isCovered) => {
  expect(isOffered(annotation, model)).toBe(isCovered)
})

function permissionsWith(namespaces: Readonly<Record<string, Partial<ClusterObject['metadata']>>>) {
  return createRoutePermissions({
    allowedNamespaces: 'all',
    releaseNamespace: 'mg',
    namespaces: {
      find: (key) => {
        const name = key.slice(1)
        const metadata = namespaces[name]
        return metadata && { apiVersion: 'v1', kind: 'Namespace', metadata: { ...metadata, name } }
      },
    },
  })
}

test('the namespace of the release may offer all by default, any other only what it is given', () => {
  const { mayOffer } = permissionsWith({
    mg: {},
    team: { annotations: { 'modelgateway.dev/may-offer': 'a/*' } },
  })
  expect(mayOffer({ namespace: 'mg' }, 'x/y')).toBe(true)
  expect(mayOffer({ namespace: 'team' }, 'a/y')).toBe(true)
  expect(mayOffer({ namespace: 'team' }, 'x/y')).toBe(false)
  expect(mayOffer({ namespace: 'unknown' }, 'x/y')).toBe(false)
  const limited = permissionsWith({ mg: { annotations: { 'modelgateway.dev/may-offer': 'a/*' } } })
  expect(limited.mayOffer({ namespace: 'mg' }, 'x/y')).toBe(false)
})

test.each([
  [undefined, false],
  [{}, false],
  [{ allowedRoutes: 'odd' }, false],
  [{ allowedRoutes: { namespaces: { from: 'Same' } } }, false],
  [{ allowedRoutes: { namespaces: { from: 'All' } } }, true],
  [{ allowedRoutes: { namespaces: { from: 'Selector', selector: { matchLabels: { team: 'a' } } } } }, true],
  [{ allowedRoutes: { namespaces: { from: 'Selector', selector: { matchLabels: { team: 'b' } } } } }, false],
  [{ allowedRoutes: { namespaces: { from: 'Selector', selector: {} } } }, false],
  [{ allowedRoutes: { namespaces: { from: 'Selector' } } }, false],
])('a provider with %j allows a route of elsewhere: %s', (spec, isAllowed) => {
  const { mayUse } = permissionsWith({ team: { labels: { team: 'a' } } })
  const provider: ClusterObject = { apiVersion: 'v', kind: 'ModelProvider', metadata: { name: 'p' }, spec }
  expect(mayUse({ namespace: 'team' }, { namespace: 'shared' }, provider)).toBe(isAllowed)
  expect(mayUse({ namespace: 'team' }, { namespace: 'team' }, provider)).toBe(true)
  expect(mayUse({ namespace: 'team' }, { namespace: 'shared' }, undefined)).toBe(false)
})
