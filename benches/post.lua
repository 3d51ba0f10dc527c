-- wrk script: POST /emails, or /emails/batch if KIND is batch. The bodies are generated before the run. If KIND is keyed,
-- each request has an idempotency key of its own. Environment: TOKEN, KIND=email|keyed|batch, PER (emails per batch), BODY_BYTES (size of the JSON of one email), LATER
-- (`scheduled_at` of the emails; due immediately if it is not set).
local kind = os.getenv("KIND") or "email"
local per = tonumber(os.getenv("PER") or "100")
local size = tonumber(os.getenv("BODY_BYTES") or "3000")
local syllables = { "an", "be", "co", "de", "en", "fi", "go", "he", "in", "ju", "ka", "lo", "mi", "no", "or", "pe" }

local function words(count)
  local list = {}
  for i = 1, count do
    local word = ""
    for _ = 1, math.random(1, 4) do word = word .. syllables[math.random(#syllables)] end
    list[i] = word
  end
  return list
end

local later = os.getenv("LATER") and string.format(',"scheduled_at":"%s"', os.getenv("LATER")) or ""
local vocabulary

local function text(bytes)
  local parts, length = {}, 0
  while length < bytes do
    local word = vocabulary[math.random(#vocabulary)]
    parts[#parts + 1] = word
    length = length + #word + 1
  end
  return table.concat(parts, " "):sub(1, bytes)
end

local function email()
  local rest = 330
  return string.format(
    '{"from":"Acme <notify@mail.example.com>","to":["user%d@customer%d.example.net"],"subject":"%s",'
      .. '"html":"<html><body><p>%s</p></body></html>","text":"%s","reply_to":["support@mail.example.com"],'
      .. '"headers":{"X-Entity-Ref-ID":"%d"},"tags":[{"name":"category","value":"confirm"}]%s}',
    math.random(200000), math.random(5000), text(40),
    text(math.floor((size - rest) * 0.8)), text(math.floor((size - rest) * 0.2)), math.random(1000000), later)
end

local pool, at = {}, 0
local key_place, keys = "key-of-the-request", 0

function init()
  math.randomseed(7)
  vocabulary = words(800)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
  if kind == "batch" then
    for i = 1, 8 do
      local emails = {}
      for n = 1, per do emails[n] = email() end
      pool[i] = wrk.format(nil, "/emails/batch", nil, "[" .. table.concat(emails, ",") .. "]")
    end
  elseif kind == "keyed" then
    wrk.headers["Idempotency-Key"] = key_place
    for i = 1, 400 do
      local text = wrk.format(nil, "/emails", nil, email())
      local from, to = text:find(key_place, 1, true)
      pool[i] = { text:sub(1, from - 1), text:sub(to + 1) }
    end
  else
    for i = 1, 400 do pool[i] = wrk.format(nil, "/emails", nil, email()) end
  end
end

function request()
  at = at % #pool + 1
  if kind ~= "keyed" then return pool[at] end
  keys = keys + 1
  return pool[at][1] .. string.format("%016d", keys) .. pool[at][2]
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%.4f,"p50_ms":%.3f,"p99_ms":%.3f,"max_ms":%.3f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
