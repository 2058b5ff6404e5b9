import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { valuesTable } from './values-table.ts'

const root = join(import.meta.dirname, '../../..')
const generated = 'Made by `npm run chart`; edit that instead.'

/** Names in `operator/deploy`, which are those of a release `model-gateway` in a namespace of that name, in order. */
const names: readonly (readonly [RegExp, string])[] = [
  [/system:serviceaccount:model-gateway:model-gateway-operator/g, '{{ include "mg.operatorUser" . }}'],
  [/(request\.namespace == )'model-gateway'/g, `$1'{{ .Release.Namespace }}'`],
  [/^(\s+)namespace: model-gateway$/gm, '$1namespace: {{ .Release.Namespace }}'],
]

/** Whose bindings judge what the operator reads, by the template that lists the namespaces. That of its Secrets judges only itself. */
const scopes: readonly (readonly [binding: string, template: string])[] = [
  ['organization', 'mg.keyNamespaces'],
  ['models', 'mg.watchedNamespaces'],
  ['mirrors', 'mg.watchedNamespaces'],
]

/** Where the README has the table of values. */
const tablePlace = /(<!-- values: made by `npm run chart` -->\n\n)[\s\S]*?(\n\n<!-- end of values -->)/

/** Kinds of objects that belong to no namespace: their names say which release they are of. */
const clusterWide =
  /^kind: (?:ClusterRole|ClusterRoleBinding|ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding)$/m

/** The files of the chart that are made of others in this repository: path within the chart → text. */
export function chartFiles(): Map<string, string> {
  const files = new Map<string, string>()
  for (const name of yamlsIn('crds')) files.set(`files/crds/${name}`, textOf('crds', name))
  for (const name of yamlsIn('operator/deploy')) {
    const documents = textOf('operator/deploy', name).split(/^---\n/m)
    files.set(
      `templates/operator/${name}`,
      `{{- /* operator/deploy/${name}. ${generated} */ -}}\n{{- if .Values.operator.enabled }}\n${documents.map(templateOf).join('---\n')}{{- end }}\n`,
    )
  }
  // Its objects are there only while the Job before an uninstallation runs.
  const rights = textOf('operator/release-finalizers', 'rbac.yaml')
    .split(/^---\n/m)
    .map(templateOf)
  files.set(
    'templates/jobs/release-finalizers-rbac.yaml',
    `{{- /* operator/release-finalizers/rbac.yaml. ${generated} */ -}}\n{{- if .Values.operator.enabled }}\n${rights.map(asHook).join('---\n')}{{- end }}\n`,
  )
  const values = valuesTable(textOf('charts/model-gateway', 'values.yaml'))
  const readme = textOf('charts/model-gateway', 'README.md')
  files.set(
    'README.md',
    readme.replace(tablePlace, (_, before: string, after: string) => `${before}${values}${after}`),
  )
  return files
}

function templateOf(document: string): string {
  let text = document
  for (const [pattern, replacement] of names) text = text.replace(pattern, replacement)
  const prefix = clusterWide.test(document) ? 'clusterName' : 'fullname'
  for (const [binding, template] of scopes)
    text = text.replace(
      new RegExp(`(policyName: model-gateway-${binding}\\n.*validationActions: .*)`),
      `$1\n  {{- include "mg.judgedNamespaces" (include "${template}" . | fromJsonArray) }}`,
    )
  // Of objects and of what refers to them; as the value of the label on Secrets the name is everybody's.
  return text
    .replace(/(\bname: |policyName: |resourceNames: \[)model-gateway-/g, (_, before: string) => {
      return `${before}{{ include "mg.${prefix}" . }}-`
    })
    .replace(
      /(kind: ServiceAccount\n\s+name: )\{\{ include "mg\.clusterName" \. \}\}/g,
      '$1{{ include "mg.fullname" . }}',
    )
}

function asHook(document: string): string {
  const hook =
    'helm.sh/hook: pre-delete, helm.sh/hook-weight: "-1", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"'
  return document.replace(/^metadata:\n/m, `metadata:\n  annotations: {${hook}}\n`)
}

function yamlsIn(folder: string): string[] {
  return readdirSync(join(root, folder)).filter((name) => name.endsWith('.yaml'))
}

function textOf(folder: string, name: string): string {
  return readFileSync(join(root, folder, name), 'utf8')
}
