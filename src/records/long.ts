/** The largest number that every Avro library writes as a long. A record with a larger one would fail its neighbours too. */
const mostLong = 2 ** 53 - 2

export const isLong = (value: number): boolean => Number.isInteger(value) && Math.abs(value) <= mostLong
