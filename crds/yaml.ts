import { stringify } from 'yaml'

/** A definition as it is committed. */
export function yamlOf(definition: object): string {
  return `# Made by \`npm run crds\` from crds/*.ts.\n${stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false })}`
}
