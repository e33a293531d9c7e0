// Package jobtoml reads the files that people write: job.toml, which says what an
// owner wants, policy.toml, which says what a machine allows, and notify.toml,
// which says who is told. It also prints their JSON Schemas.
//
// It promises that every key is known by its exact spelling and that every
// refusal names line and column. It refuses unknown keys, keys in another case,
// duplicate keys, text that is not UTF-8, zero where a value is required, and a
// rule of the policy whose own examples do not hold. What it returns is parsed
// and permitted nothing: a Draft goes to jobspec.Resolve, a Policy to
// jobspec.Decide.
//
// It is the only package that knows TOML. It imports jobspec and go-toml; cmd
// imports it.
package jobtoml
