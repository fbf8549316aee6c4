"""Creates a bucket, a user and a role who may use it, and prints the keys and the role as JSON.

The arguments are the URL of moto and the name of the bucket. From then on, moto verifies signatures
and rights.
"""
import json
import sys
import urllib.request

import boto3

url, bucket = sys.argv[1:]
options = {'endpoint_url': url, 'region_name': 'us-east-1', 'aws_access_key_id': 'none',
           'aws_secret_access_key': 'none'}
boto3.client('s3', **options).create_bucket(Bucket=bucket)
iam = boto3.client('iam', **options)
iam.create_user(UserName='archive')
objects = ['s3:GetObject', 's3:PutObject', 's3:DeleteObject']
policy = {'Version': '2012-10-17', 'Statement': [
    {'Effect': 'Allow', 'Action': ['s3:ListBucket'], 'Resource': f'arn:aws:s3:::{bucket}'},
    {'Effect': 'Allow', 'Action': objects, 'Resource': f'arn:aws:s3:::{bucket}/*'},
]}
iam.put_user_policy(UserName='archive', PolicyName='bucket', PolicyDocument=json.dumps(policy))
trust = {'Version': '2012-10-17', 'Statement': [
    {'Effect': 'Allow', 'Action': 'sts:AssumeRoleWithWebIdentity', 'Principal': '*'},
]}
role = iam.create_role(RoleName='archive', AssumeRolePolicyDocument=json.dumps(trust))['Role']
iam.put_role_policy(RoleName='archive', PolicyName='bucket', PolicyDocument=json.dumps(policy))
key = iam.create_access_key(UserName='archive')['AccessKey']
# https://docs.getmoto.org/en/latest/docs/iam.html: the number of actions that need no rights.
request = urllib.request.Request(f'{url}/moto-api/reset-auth', data=b'0', method='POST',
                                 headers={'content-type': 'text/plain'})
urllib.request.urlopen(request).close()
print(json.dumps({'id': key['AccessKeyId'], 'secret': key['SecretAccessKey'], 'role': role['Arn']}))
