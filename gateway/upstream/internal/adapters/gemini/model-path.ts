/** A model as the API names it; a backend may leave `models/` out. */
export function modelPathOf(model: string): string {
  return /^(?:models|tunedModels)\//.test(model) ? model : `models/${model}`
}
