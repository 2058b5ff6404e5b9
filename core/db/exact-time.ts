/** A time as text, with its microseconds, in UTC: a cursor that rounded it would skip or repeat rows. */
export const exactTimeSql = (column: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
