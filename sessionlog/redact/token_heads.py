"""How tokens begin, for the cheap test. Made of token_forms.py by tools/generate.py."""

# Tokens begin with one of these words and a sign.
WORDS = frozenset(
    (
        b"A3 AGE APP CCIPAT CCIPRJ CFPAT CLOJARS FLWPUBK FLWSECK GOCSPX HRKU JQQJ99 NRAA NRAK NRAL NRBR NRII "
        b"NRIQ NRJS NRRA NRSP PMAK PMAT SG aio amzn apiKeys apify atlasv1 authress bkaj bkat bkct bkpi bkpt "
        b"bkua cloudinary csk da2 dckr ddapp ddpat ddsat dnkey doo dop dor dp dt0a01 dt0c01 dt0s01 dt0s16 "
        b"duffel ek endr essu figd figdr figo figoh figor figu figur fio fm1 fm1a fm1r fm2 fo1 gho ghp ghr ghs "
        b"ghu glagent glc glcbt gldt glffct glft glimt gloas glpat glptt glrt glrtr glsa glsoat gsk hf hvb hvr "
        b"hvs ico jina lin lsv2 mka napi nfc nfo nfp nfu npm ntn nvapi odt ops p8e packagist pcsk phc phs phx "
        b"pk pnb pnu pplx prtapi pscale pul pypi r8 rdme rh rk rootly rpa rubygems rzp sb sbp scauth sec sgd "
        b"sgp sgs shippo shpat shpca shppa shprt shpss sk slk sm sntrys sntryu snyk spu sq0atp sq0csp sq0idp "
        b"sqa sqp squ tfp tines tkn tr tskey tvly unkey us1 us10 us11 us12 us13 us14 us15 us16 us17 us18 us19 "
        b"us2 us20 us21 us22 us23 us24 us3 us4 us5 us6 us7 us8 us9 vca vci vck vcp vcr waka wandb webhooks "
        b"whsec xai xapp xkeysib xoxa xoxb xoxc xoxd xoxe xoxo xoxp xoxr xoxs xsmtpsib y0 y1 y2 y3 ya29 zapier "
        b"zpka "
    ).split()
)

# These words begin much else too.
WEAK_WORDS = frozenset(
    (
        b"1000 API R access ak al api b bedrock client cr ext fw github hooks key live ls ml mob mobile office "
        b"pa pat patreon persona polar pub pubkey r ramp re retool s sandbox sat sc sdk secret server sha256 "
        b"sl slack sub t1 test tk v1 vercel web webhook wf "
    ).split()
)

# The first letters of tokens that have no sign after their beginning.
HEADS_4 = frozenset(
    (
        b"4b1d ABIA ABSK ACCA AIza AKCp AKIA AKID AQVN ASIA ATAT ATBB ATCT Azur EAAA EZAK EZTK GR13 LACE LS0t "
        b"LTAI MC4C MHcC MIG2 MIGH MIGk QUtJ QVNJ Z2h1 Z2hv Z2hw Z2hz Z2l0 Z2xw ZXlK b3Bl bnBt c2st c2tf cmVm "
        b"cnvc dapi eG94 eyJ0 eyJ1 eyJ2 eyJ3 eyJ4 eyJ5 eyJ6 eyJh eyJi eyJj eyJk eyJl eyJm eyJn eyJo eyJp eyJq "
        b"eyJr eyJs eyJt eyJu eyJv eyJw eyJx eyJy eyJz xtin "
    ).split()
)
