export const ru = {
  found: (count: number) => `Найдено: ${count}`,
  unavailable: 'Поиск недоступен. Попробуйте ещё раз.',
}
