import { usePathname } from 'wouter/use-browser-location'

/** The catalog's address: that of its pages for everyone, or within the cabinet. */
export type ModelsHome = '/models' | '/app/models'

/** The catalog whose page is open: within the cabinet, its links stay there. */
export function useModelsHome(): ModelsHome {
  return /^\/app(?:\/|$)/.test(usePathname()) ? '/app/models' : '/models'
}

/** The address of a model's page; the slash of an id stays a slash. Pure. */
export function pageOfModel(home: ModelsHome, id: string): string {
  return `${home}/${id.split('/').map(encodeURIComponent).join('/')}`
}

/** The address of a comparison of models. Pure. */
export function pageOfComparison(home: ModelsHome, ids: readonly string[]): string {
  return `${home}/compare?${new URLSearchParams(ids.map((id) => ['model', id]))}`
}
