/** The catalog in the cabinet's frame. */
export const cabinetModels = '/app/models'

/** The catalog's address: that of its pages for everyone, or within the cabinet. */
type ModelsHome = '/models' | typeof cabinetModels

/** The address of a model's page; the slash of an id stays a slash. Pure. */
export function pageOfModel(home: ModelsHome, id: string): string {
  return `${home}/${id.split('/').map(encodeURIComponent).join('/')}`
}

/** The address of a comparison of models. Pure. */
export function pageOfComparison(home: ModelsHome, ids: readonly string[]): string {
  const named = ids.map((id): [string, string] => ['model', id])
  return `${home}/compare?${new URLSearchParams(named)}`
}
